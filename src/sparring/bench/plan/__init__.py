"""`sparring plan`: what a training run would come to on machines that are not here yet.

`simulation` plays the pipeline through, event by event; `forecast` fills it with the rates that `sparring diagnose` has
measured and says what comes out: updates, matches, memory, storage and the bottleneck.
"""
