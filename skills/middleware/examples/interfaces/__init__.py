"""The two interfaces middleware is written for here."""
