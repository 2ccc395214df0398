"""What is asked of Z3 beyond one check: uniqueness, options, optima, enumeration, conflicts."""
