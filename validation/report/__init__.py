"""The report: verdicts by rule, from the result files alone, as Markdown, as HTML with plots, and in the README."""
