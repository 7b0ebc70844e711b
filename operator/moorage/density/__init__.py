"""How many pods really fit on nodes: pure arithmetic over plain values."""
