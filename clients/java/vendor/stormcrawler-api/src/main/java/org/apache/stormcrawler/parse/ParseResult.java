package org.apache.stormcrawler.parse;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

public class ParseResult {
  private final Map<String, ParseData> parts = new HashMap<>();
  private List<Outlink> outlinks;

  public ParseResult(List<Outlink> links) {
    outlinks = links;
  }

  public List<Outlink> getOutlinks() {
    return outlinks;
  }

  public void setOutlinks(List<Outlink> links) {
    outlinks = links;
  }

  public ParseData get(String url) {
    return parts.computeIfAbsent(url, key -> new ParseData());
  }
}
