"""From syntax trees to Z3 terms, and from Z3 models back to typed values."""
