"""What the papers prove about networks at a KKT point of the margin problem."""
