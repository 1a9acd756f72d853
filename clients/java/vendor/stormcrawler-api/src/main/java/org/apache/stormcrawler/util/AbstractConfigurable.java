package org.apache.stormcrawler.util;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Map;

public abstract class AbstractConfigurable implements Configurable {
  @Override
  public void configure(Map<String, Object> stormConf, JsonNode filterParams, String filterName) {
    configure(stormConf, filterParams);
  }
}
