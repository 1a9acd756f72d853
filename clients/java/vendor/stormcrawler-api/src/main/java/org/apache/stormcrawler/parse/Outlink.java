package org.apache.stormcrawler.parse;

import org.apache.stormcrawler.Metadata;

public class Outlink {
  private final String target;
  private String anchor;
  private Metadata metadata;

  public Outlink(String url) {
    target = url;
  }

  public String getTargetURL() {
    return target;
  }

  public String getAnchor() {
    return anchor;
  }

  public Metadata getMetadata() {
    return metadata;
  }

  public void setMetadata(Metadata of) {
    metadata = of;
  }
}
