package org.apache.stormcrawler.parse;

import org.apache.stormcrawler.Metadata;

public class ParseData {
  private Metadata metadata = new Metadata();

  public Metadata getMetadata() {
    return metadata;
  }

  public void setMetadata(Metadata of) {
    metadata = of;
  }
}
