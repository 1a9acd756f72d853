package org.apache.stormcrawler.parse;

import org.apache.stormcrawler.util.Configurable;
import org.jsoup.nodes.Document;

public interface JSoupFilter extends Configurable {
  void filter(String url, byte[] content, Document doc, ParseResult parse);
}
