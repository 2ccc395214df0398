"""One module per benchmark, named as `python -m validation.run NAME` calls it."""
