package org.apache.stormcrawler;

import java.util.HashMap;
import java.util.Map;

public class Metadata {
  private final Map<String, String[]> values = new HashMap<>();

  public String getFirstValue(String key) {
    String[] found = values.get(key);
    return found == null || found.length == 0 ? null : found[0];
  }

  public void setValue(String key, String value) {
    values.put(key, new String[] {value});
  }

  public String[] remove(String key) {
    return values.remove(key);
  }
}
