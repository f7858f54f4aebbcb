"""Benchmarks on instances of QAPLIB: the relaxed problem (`relax`), the search for a permutation (`multistart`), tabu search."""
