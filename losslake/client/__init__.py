"""What the command line does with other machines: asking a service, downloading a release, streaming an archive."""
