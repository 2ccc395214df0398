"""SMT-LIB 2 scripts: read and checked against an allowlist before Z3 sees a word."""
