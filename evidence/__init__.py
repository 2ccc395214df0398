"""What is known of models and actions: measurement records, statistics over them, rules derived from them.

`records` says what a record is and how a benchmark or the model-in-the-loop harness writes one, `inference` has
the statistics, `derive` makes rules, `build` makes `data/evidence.json` of the result files, `lookup` finds the
rule for a model and a task, `hints` puts it into words, `features` and `profiles` read tasks and models.
"""
