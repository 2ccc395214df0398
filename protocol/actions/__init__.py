"""One module per domain: the params, results and registration of its actions."""
