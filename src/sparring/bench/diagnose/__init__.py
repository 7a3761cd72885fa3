"""`sparring diagnose`: where the time of a training run goes, and what to change.

`subject` says what is measured; `parts` measure it in short rounds, and `run` joins them in turns; `model` says what a
faster stage would bring, `verdict` names the bottleneck; `baseline` keeps a measurement and compares another with it.
"""
