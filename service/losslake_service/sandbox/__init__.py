"""A stranger's SQL on a release, in processes that may do nothing but read its data and write a bounded result."""
