"""The folder of a study and its YAML: where it is, who trusts it, what is wrong in it and where."""
