"""Every fact of `tests/contracts/` about terms, for the other array libraries."""

from tests.contracts import test_terms

globals().update({name: fact for name, fact in vars(test_terms).items() if name.startswith("test_")})
