-- Begins a file that older DuckDBs can read as well. Its path stands in place of $path, since ATTACH takes no parameters.
ATTACH $path AS losslake (STORAGE_VERSION 'v1.0.0');
USE losslake;
