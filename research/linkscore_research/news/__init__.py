"""How well news is found from a browse log, measured against labelled pages."""

from linkscore_research.news.report import NewsReport, StoredMenu, news_report, print_news

__all__ = ["NewsReport", "StoredMenu", "news_report", "print_news"]
