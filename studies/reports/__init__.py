"""Reports: findings about a release, in prose with the numbers of its analyses."""
