package org.apache.stormcrawler.persistence;

import java.util.Date;
import java.util.Map;
import java.util.Optional;
import org.apache.stormcrawler.Metadata;

public abstract class Scheduler {
  protected abstract void init(Map<String, Object> stormConf);

  public abstract Optional<Date> schedule(Status status, Metadata metadata);
}
