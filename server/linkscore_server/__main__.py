"""`python -m linkscore_server` is the `linkscore` command."""

from linkscore_server.cli import main

if __name__ == "__main__":
    main()
