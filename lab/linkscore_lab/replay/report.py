def write_report(path, runs, meta):
    pass
