"""What a browse log is worth: orders mined from its first days, judged on the rest."""
