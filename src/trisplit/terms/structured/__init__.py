"""Groups, order and neighbourhood."""
