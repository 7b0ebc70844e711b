"""What refuses and fills in: policies that the API server runs by itself."""
