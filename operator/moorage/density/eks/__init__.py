"""How many pods a node of Amazon EKS takes and which addresses of its subnet they cost: arithmetic over one table."""
