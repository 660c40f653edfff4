"""Whether what the papers state holds in what we measured, claim by claim.

`claims.csv` of a study has its statements, `claims.py` what each means as a condition on
measured values, `verdict` the one rule that decides. docs/claims.md explains all of it.
"""
