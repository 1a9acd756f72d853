package org.apache.stormcrawler.util;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Map;

public interface Configurable {
  default void configure(Map<String, Object> stormConf, JsonNode filterParams) {}

  default void configure(Map<String, Object> stormConf, JsonNode filterParams, String filterName) {}
}
