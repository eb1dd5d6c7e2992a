"""What stands between the network and the answers: logs, metrics, limits, compression, health."""
