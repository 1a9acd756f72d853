"""``python -m linkscore_research.page_types CORPUS...``: see `command`."""

from linkscore_research.page_types.command import main

if __name__ == "__main__":
    main()
