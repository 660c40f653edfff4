"""What is written into `results/`: a figure's outputs, pages, the table of claims."""
