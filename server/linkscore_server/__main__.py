"""`python -m linkscore_server` is the `linkscore` command."""

from linkscore_cli.__main__ import main

if __name__ == "__main__":
    main()
