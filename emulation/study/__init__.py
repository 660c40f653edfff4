"""The folder of a study and its YAML: where it is, whether it is trusted, what is wrong in it and where."""
