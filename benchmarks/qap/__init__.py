"""Benchmarks on instances of QAPLIB: the relaxed problem (`relax`), and the search for a permutation (`multistart`)."""
