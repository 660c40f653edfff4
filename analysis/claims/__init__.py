"""Whether what the papers state holds in what we measured, claim by claim.

`data/published/claims-<paper>.csv` has the statements, `RULES` what each means as a condition on
measured values, `verdict` the one rule that decides. docs/claims.md explains all of it.
"""
