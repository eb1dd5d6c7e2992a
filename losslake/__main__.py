"""Run the command line: `python -m losslake`."""

from losslake_cli.main import main

if __name__ == "__main__":
    main()
