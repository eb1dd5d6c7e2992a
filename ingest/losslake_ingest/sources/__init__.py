"""Where logs lie: a folder, a tar in any compression, a zip; each read as a stream of files, nothing unpacked."""
