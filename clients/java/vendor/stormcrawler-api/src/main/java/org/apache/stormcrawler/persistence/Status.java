package org.apache.stormcrawler.persistence;

public enum Status {
  DISCOVERED,
  FETCHED,
  FETCH_ERROR,
  REDIRECTION,
  ERROR
}
