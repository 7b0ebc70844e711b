"""What a namespace uses and how that compares with its quotas: pure rules over plain values."""
