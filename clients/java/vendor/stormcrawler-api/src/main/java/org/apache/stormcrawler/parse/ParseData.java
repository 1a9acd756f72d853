package org.apache.stormcrawler.parse;

import org.apache.stormcrawler.Metadata;

public class ParseData {
  private final Metadata metadata = new Metadata();

  public Metadata getMetadata() {
    return metadata;
  }
}
