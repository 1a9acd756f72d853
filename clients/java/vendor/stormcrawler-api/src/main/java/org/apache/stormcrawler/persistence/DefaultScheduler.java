package org.apache.stormcrawler.persistence;

import java.util.Date;
import java.util.Map;
import java.util.Optional;
import org.apache.stormcrawler.Metadata;

public class DefaultScheduler extends Scheduler {
  @Override
  public void init(Map<String, Object> stormConf) {}

  @Override
  public Optional<Date> schedule(Status status, Metadata metadata) {
    return Optional.of(new Date());
  }
}
