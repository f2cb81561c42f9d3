package org.junit.jupiter.api;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** Stands for JUnit's where JUnit is not there. */
@Retention(RetentionPolicy.RUNTIME)
public @interface Test { }
