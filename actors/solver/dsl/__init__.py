"""The language of constraints: text or JSON to a syntax tree, declarations, and the independent evaluator."""
