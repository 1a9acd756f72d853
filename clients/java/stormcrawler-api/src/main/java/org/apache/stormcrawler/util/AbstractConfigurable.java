package org.apache.stormcrawler.util;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Map;

public abstract class AbstractConfigurable implements Configurable {
  private String name;

  @Override
  public String getName() {
    return name;
  }

  @Override
  public void configure(Map<String, Object> stormConf, JsonNode filterParams, String filterName) {
    name = filterName;
    configure(stormConf, filterParams);
  }
}
