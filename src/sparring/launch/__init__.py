"""Training as a job of a cluster that SLURM runs: what is asked for, where it fits, its script, and what became of it.

`programs` calls SLURM; `request` is what the user asks for; `cluster` what there is; `placing` finds where the job fits
and says why; `script` writes the batch script; `jobs` submits it and finds it again; `logs` follows what it says;
`explaining` says in one sentence why it stopped.
"""
