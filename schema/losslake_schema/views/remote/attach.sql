-- Creates a file that older versions of DuckDB can read as well. $path is replaced by its path: ATTACH has no parameters.
ATTACH $path AS losslake (STORAGE_VERSION 'v1.0.0');
USE losslake;
