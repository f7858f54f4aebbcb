"""Terms made of terms."""
