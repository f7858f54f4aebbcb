"""Benchmarks of the relaxed QAP (`relax`), the search for a permutation (`multistart`) and tabu search (`tabu`)."""
